// An issuer on port 9300 to try the gateway with, until Ctrl-C: its clients ada and bob get access tokens for themselves.

import { audience, Issuer, newKey, secret } from './issuer.mjs';

const issuer = await Issuer.start({ machines: ['ada', 'bob'], keys: [newKey('RS256')], port: 9300 });
console.log(`issuer ${issuer.url}, audience ${audience}, clients ada and bob with the secret ${secret}`);
