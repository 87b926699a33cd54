// The HTTP service behind the server tool get_weather: answers with the city it was asked for.

import http from 'node:http';

export class WeatherService {
    static async start() {
        const service = new WeatherService();
        service.calls = [];
        service.server = http.createServer(async (request, response) => {
            let text = '';
            for await (const chunk of request) text += chunk;
            const call = JSON.parse(text);
            service.calls.push(call);
            const { city } = call.arguments;
            const asked = service.questionsAbout(city)[call.inputs?.length ?? 0];
            if (asked) {
                response.end(JSON.stringify({ _meta: { 'org.agui-gateway/input': asked } }));
                return;
            }
            if (city === 'Atlantis') {
                response.writeHead(500).end('no such city');
                return;
            }
            if (city === 'Limbo' || city === 'Avalon') {
                // Never answers: the caller has to give up.
                service.limbo?.(response);
                return;
            }
            response.writeHead(200, { 'Content-Type': 'application/json' });
            response.end(JSON.stringify({ sky: 'clear', city }));
        });
        await new Promise((resolve) => service.server.listen(0, '127.0.0.1', resolve));
        return service;
    }

    /// Resolves to the response object of the next call for Limbo or Avalon, once it has arrived.
    nextInLimbo() {
        return new Promise((resolve) => (this.limbo = resolve));
    }

    get question() {
        const unit = { type: 'object', properties: { unit: { enum: ['C', 'F'] } }, required: ['unit'] };
        return { message: 'Which unit?', responseSchema: unit, metadata: { title: 'Unit', kind: 'forged' } };
    }

    /// The questions about a city that come before its answer.
    questionsAbout(city) {
        const isThere = { message: 'Is it there?', responseSchema: { type: 'boolean' } };
        const { question } = this;
        const about = { Utopia: [question], 'Utopia twice': [question, question], Avalon: [question], Erewhon: [isThere] };
        return about[city] ?? [];
    }

    /// The entry of [[tools.webhook]].
    get tool() {
        return {
            name: 'get_weather',
            description: 'The weather in a city.',
            parameters: '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}',
            url: `http://127.0.0.1:${this.server.address().port}/weather`,
        };
    }

    async stop() {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }
}
