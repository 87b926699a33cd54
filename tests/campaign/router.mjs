// A load balancer without a memory: each connection goes to a random server that accepts it. It does not look at what
// it carries, and a server that has stopped without closing its port still gets connections, as with a real one
// between two looks at its health.

import net from 'node:net';
import { once } from 'node:events';

import { shuffled } from './random.mjs';

/// `servers`: objects with a `port` and a `name`, which are read for each connection. servedBy() tells, by the port of
/// the client's end, the name that the server had when it accepted the connection.
export async function createRouter({ servers, below }) {
    const served = new Map();
    const open = new Set();

    async function connect(server) {
        const socket = net.connect({ host: '127.0.0.1', port: server.port, noDelay: true });
        await once(socket, 'connect');
        return socket;
    }

    async function carry(client) {
        open.add(client);
        client.on('error', () => client.destroy());
        client.on('close', () => open.delete(client));
        const { remotePort } = client;
        for (const server of shuffled(servers, below)) {
            const { name } = server;
            const socket = await connect(server).catch(() => undefined);
            if (!socket) continue;
            served.set(remotePort, name);
            socket.on('error', () => client.destroy());
            client.on('close', () => socket.destroy());
            if (client.destroyed) socket.destroy();
            socket.pipe(client);
            client.pipe(socket);
            return;
        }
        client.destroy();
    }

    const listener = net.createServer({ noDelay: true }, (client) => { carry(client).catch(() => client.destroy()); });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return {
        port: listener.address().port,
        servedBy: (clientPort) => served.get(clientPort),
        close() {
            listener.close();
            for (const client of open) client.destroy();
        },
    };
}
