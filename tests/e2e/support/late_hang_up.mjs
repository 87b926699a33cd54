// A relay in front of the gateway in which a message overtakes the hang-up before it, as with two routes through a network: the
// gateway sees that a client has gone once the next request has been handed over, and not before.

import net from 'node:net';

export class LateHangUp {
    static async start(base) {
        const relay = new LateHangUp();
        const { hostname, port } = new URL(base);
        relay.gone = [];
        relay.open = new Set();
        relay.server = net.createServer((client) => relay.#pass(client, net.connect({ host: hostname, port: Number(port) })));
        await new Promise((resolve) => relay.server.listen(0, '127.0.0.1', resolve));
        relay.base = `http://127.0.0.1:${relay.server.address().port}`;
        relay.url = `${relay.base}/agui`;
        return relay;
    }

    async stop() {
        for (const socket of this.open) socket.destroy();
        await new Promise((resolve) => this.server.close(resolve));
    }

    #pass(client, gateway) {
        for (const socket of [client, gateway]) {
            this.open.add(socket);
            socket.on('error', () => {});
            socket.on('close', () => this.open.delete(socket));
        }
        client.on('data', (chunk) => {
            this.latest = client;
            gateway.write(chunk, () => this.gone.splice(0).forEach((left) => left.destroy()));
        });
        gateway.on('data', (chunk) => client.write(chunk));
        gateway.on('close', () => client.destroy());
        client.on('close', () => {
            if (this.latest === client) this.gone.push(gateway);
            else gateway.destroy();
        });
    }
}
