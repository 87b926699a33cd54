// The PostgreSQL server of a campaign, as tests/postgres.sh starts it, in one of two folders; in the other one a standby
// is made that takes its place.

import { execFile, execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = path.join(path.dirname(fileURLToPath(import.meta.url)), '../postgres.sh');
const execute = promisify(execFile);

/// `folder`: absolute, and the server's user may enter it.
export function createDatabase(folder) {
    const places = ['a', 'b'].map((name) => path.join(folder, name));
    let primary = 0;
    const urlOf = (place) => `postgresql:///postgres?host=${places[place]}&user=agui`;
    execFileSync(script, ['start', places[primary]]);

    async function query(place, ...commands) {
        const words = commands.flatMap((command) => ['--command', command]);
        const { stdout } = await execute('psql', ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--dbname',
            urlOf(place), ...words], { maxBuffer: 2 ** 28 });
        return stdout.trim();
    }
    const ask = (...commands) => query(primary, ...commands);

    async function until(what, condition) {
        for (let waited = 0; await ask(`SELECT ${condition}`) !== 't'; waited += 20) {
            if (waited > 10_000) throw new Error(`the standby is not ${what}`);
            await sleep(20);
        }
    }
    // What was committed before the standby counted is not waited for by its commit.
    async function makeSynchronous() {
        await ask(`ALTER SYSTEM SET synchronous_standby_names = '*'`, 'SELECT pg_reload_conf()');
        await until('synchronous', `EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')`);
        const end = await ask('SELECT pg_current_wal_insert_lsn()');
        await until('up to date', `EXISTS (SELECT FROM pg_stat_replication WHERE flush_lsn >= '${end}')`);
    }

    return {
        /// The folders in which a server may be; of these, the one that is written to.
        places,
        primary: () => primary,
        url: () => urlOf(primary),
        /// Executes each command at the server that is written to; resolves to what psql prints.
        ask,
        owner() {
            const { uid, gid } = fs.statSync(path.join(places[primary], 'data'));
            return { uid, gid };
        },
        /// Ends the server by a signal that PostgreSQL documents.
        async end(signal) {
            const pidFile = path.join(places[primary], 'data/postmaster.pid');
            process.kill(Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]), signal);
            while (fs.existsSync(pidFile)) await sleep(20);
        },
        resume: () => execute(script, ['resume', places[primary]]),
        /// Makes a standby that gets all that is committed; `synchronous`: before anybody hears of it.
        async addStandby(synchronous) {
            await execute(script, ['standby', places[1 - primary], places[primary]]);
            await until('streaming', `EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')`);
            if (synchronous) await makeSynchronous();
        },
        /// The standby gets nothing more.
        async cutStandby() {
            await query(1 - primary, `ALTER SYSTEM SET primary_conninfo = ''`, 'SELECT pg_reload_conf()');
            await until('cut off', 'NOT EXISTS (SELECT FROM pg_stat_replication)');
        },
        /// The server is gone for good.
        destroy: () => execute(script, ['kill', places[primary]]),
        /// The standby takes its place, and waits for no other one.
        async promote() {
            primary = 1 - primary;
            await execute(script, ['promote', places[primary]]);
            await ask('ALTER SYSTEM RESET synchronous_standby_names', 'ALTER SYSTEM RESET primary_conninfo',
                'SELECT pg_reload_conf()');
        },
        stop() {
            for (const place of places) spawnSync(script, ['stop', place]);
            fs.rmSync(folder, { recursive: true, force: true });
        },
    };
}
