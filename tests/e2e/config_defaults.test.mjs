// The defaults that gateway/config/README.md names are those of the program.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { binFolder, toToml } from './support/gateway.mjs';

const configReadme = fs.readFileSync(fileURLToPath(new URL('../../gateway/config/README.md', import.meta.url)), 'utf8');

/// The keys of the tables `[server]`, `[session]`, `[tools]` and `[[agents]]`: "table.key", and the value of each whose
/// default is a literal.
function documentedKeys() {
    const keys = [];
    for (const [, table, rows] of configReadme.matchAll(/\n\| `\[+(server|session|tools|agents)\]+` \|[^\n]*\n\|[-|]+\|\n((?:\|[^\n]*\n)+)/g)) {
        for (const row of rows.split('\n').slice(0, -1)) {
            const [, names, defaults] = row.split('|').map((cell) => cell.trim());
            const found = [...names.matchAll(/`(\w+)`/g)].map((match) => match[1]);
            const literal = /^(`[^`…]*`|\d+)(, (`[^`…]*`|\d+))*$/.test(defaults);
            const values = literal ? [...defaults.matchAll(/`"?([^`"]*)"?`|(\d+)/g)].map((match) => match[1] ?? match[2]) : [];
            for (const [index, name] of found.entries()) {
                // One default for two keys is that of both.
                keys.push({ name: `${table}.${name}`, value: values.length === 1 ? values[0] : values[index] });
            }
        }
    }
    return keys;
}

/// What --print-config says of the tables [server], [session] and [tools]: "table.key" to value.
function printedConfig(configFile) {
    const text = execFileSync(path.join(binFolder, 'agui-gateway'), ['--config', configFile, '--print-config'], { encoding: 'utf8' });
    const printed = new Map();
    let table = '';
    for (const line of text.split('\n')) {
        table = /^\s*\[+(.*?)\]+$/.exec(line)?.[1] ?? table;
        const [, key, value] = /^\s*(\w+) = (.*)$/.exec(line) ?? [];
        if (key) printed.set(`${table}.${key}`, value.replace(/^'(.*)'$|^"(.*)"$/, '$1$2'));
    }
    return printed;
}

describe('the tables of gateway/config/README.md', () => {
    it('name the defaults that --print-config prints', () => {
        const configFile = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'agui-readme-')), 'gateway.toml');
        fs.writeFileSync(configFile, toToml({
            server: { static_dir: path.dirname(configFile) },
            models: { main: { provider: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'mock' } },
            agents: [{ id: 'default', models: ['main'] }],
        }));
        const printed = printedConfig(configFile);
        fs.rmSync(path.dirname(configFile), { recursive: true });
        const keys = documentedKeys();
        assert.ok(keys.length > 60, 'the tables are not where they were');
        let compared = 0;
        for (const { name, value } of keys) {
            if (value === undefined || !printed.has(name)) continue;
            assert.equal(printed.get(name).replaceAll(' ', ''), value.replaceAll(' ', ''), `the default of ${name}`);
            compared += 1;
        }
        assert.ok(compared > 50, `only ${compared} defaults are compared`);
    });
});
