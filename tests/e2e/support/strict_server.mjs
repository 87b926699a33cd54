// A model server of one dialect that refuses what its vendor refuses. A class made of it says what that is, and what the
// model answers: problem(), answer(), refusal().

import http from 'node:http';

export class StrictServer {
    requests = []; // Bodies.
    refusals = [];
    returned = 0; // Thoughts that came back.
    path = ''; // Of the API's URL.
    idHeader = 'x-request-id';

    static async start() {
        const made = new this();
        made.server = http.createServer((request, response) => made.serve(request, response));
        await new Promise((resolve) => made.server.listen(0, '127.0.0.1', resolve));
        made.url = `http://127.0.0.1:${made.server.address().port}${made.path}`;
        return made;
    }

    async stop() {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }

    async serve(request, response) {
        let text = '';
        for await (const chunk of request) text += chunk;
        const body = JSON.parse(text);
        this.requests.push(body);
        const wrong = this.problem(request, body);
        if (wrong) {
            this.refusals.push(wrong);
            response.writeHead(400, { 'content-type': 'application/json' });
            response.end(JSON.stringify(this.refusal(wrong)));
            return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream', [this.idHeader]: `req_${this.requests.length}` });
        const answer = Buffer.from(this.answer(body));
        for (let at = 0; at < answer.length; at += 61) response.write(answer.subarray(at, at + 61));
        response.end();
    }
}
