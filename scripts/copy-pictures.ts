import { copyFileSync, existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// `npm run pictures`: takes the pictures of the page in the documentation from those that the tests of the page have made.

const PICTURES: Readonly<Record<string, string>> = {
  'page-overview': 'overview',
  'page-group': 'group-after-a-kill',
}
const MOST_BYTES = 150_000

for (const [name, made] of Object.entries(PICTURES)) {
  const from = fileURLToPath(new URL(`../.cache/ui/${made}.png`, import.meta.url))
  if (!existsSync(from)) throw new Error(`there is no ${from}: run npm test -- tests/ui first`)
  if (statSync(from).size > MOST_BYTES)
    throw new Error(`${from} is larger than ${MOST_BYTES} bytes`)
  copyFileSync(from, fileURLToPath(new URL(`../docs/pictures/${name}.png`, import.meta.url)))
}
