// The network between one gateway and the servers that it uses, or between other gateways and this one: carries bytes
// between TCP ports of its own and the servers' sockets, and has the faults that networks have.

import net from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/// One direction of a connection.
function pass(from, to, state) {
    const waiting = []; // What is delayed, in order.
    const after = (action) => {
        if (state.delay === 0 && waiting.length === 0) return action();
        waiting.push(action);
        return setTimeout(() => waiting.shift()(), state.delay);
    };
    from.on('data', (bytes) => after(() => to.write(bytes)));
    from.on('end', () => after(() => to.end()));
}

// From here no connection begins, so a port that is free for a while is not taken.
const host = '127.0.0.2';

/// `targets`: the servers' sockets, as net.connect() takes them. The port at which each can be reached, on `host`, is in
/// `ports`.
export async function createNetwork(targets) {
    const state = { delay: 0, silent: false };
    const places = targets.map(() => ({ down: false, port: 0 }));
    let isCut = false;
    const pairs = new Set();
    let heard = () => {};

    async function carry(client, place) {
        const pair = { place, ends: [client] };
        pairs.add(pair);
        client.on('error', () => {});
        client.on('close', () => leave(pair));
        while (state.silent) await state.silent;
        await sleep(state.delay);
        if (!pairs.has(pair)) return undefined;
        const server = net.connect(targets[place]);
        pair.ends.push(server);
        server.on('error', () => client.destroy());
        server.on('close', () => leave(pair));
        if (client.destroyed) server.destroy();
        pass(client, server, state);
        pass(server, client, state);
        if (state.silent) hold(pair);
        return client.resume();
    }

    // Nobody hears that the other end has gone while nothing gets through.
    async function leave(pair) {
        while (state.silent) await state.silent;
        await sleep(state.delay);
        pairs.delete(pair);
        for (const end of pair.ends) end.destroySoon();
    }
    function reset(pair) {
        const [client, server] = pair.ends;
        pairs.delete(pair);
        if (!client.destroyed) client.resetAndDestroy();
        server?.destroy();
    }
    function hold(pair) {
        for (const end of pair.ends) end.pause();
    }

    // A server that cannot be reached refuses connections: one that it accepts keeps libpq from trying the next host.
    async function follow(place) {
        const each = places[place];
        const open = !isCut && !each.down;
        if (open && !each.listener) {
            each.listener = net.createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen: true },
                (client) => { carry(client, place).catch(() => client.destroy()); });
            each.listener.listen(each.port, host);
            await once(each.listener, 'listening');
            each.port = each.listener.address().port;
        } else if (!open) {
            each.listener?.close();
            each.listener = undefined;
            for (const pair of [...pairs]) if (pair.place === place) reset(pair);
        }
    }
    const followAll = () => Promise.all(places.map((_, place) => follow(place)));
    await followAll();
    return {
        host,
        ports: places.map(({ port }) => port),
        /// The server at this place cannot be reached: its connections are reset, and new ones refused.
        async takeDown(place) {
            places[place].down = true;
            await follow(place);
        },
        async bringUp(place) {
            places[place].down = false;
            await follow(place);
        },
        /// So it is with every server.
        async cut() {
            isCut = true;
            await followAll();
        },
        /// What is sent takes this long in each direction.
        slow(milliseconds) { state.delay = milliseconds; },
        /// Nothing gets through in either direction, connections stay open, new ones wait.
        silence() {
            state.silent = new Promise((resolve) => { heard = resolve; });
            for (const pair of pairs) hold(pair);
        },
        /// It is no longer cut, slow or silent; what was sent in silence arrives.
        async mend() {
            isCut = false;
            await followAll();
            state.delay = 0;
            state.silent = false;
            heard();
            for (const { ends } of pairs) if (ends.length === 2) for (const end of ends) end.resume();
        },
        close() {
            for (const { listener } of places) listener?.close();
            for (const pair of [...pairs]) reset(pair);
        },
    };
}
