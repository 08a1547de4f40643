import { spawnSync } from 'node:child_process'
import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './repository.ts'

// `npm run pictures`: runs the tests that visit the page, and takes the pictures of the documentation from those that they make,
// in light and dark.

const PICTURES: Readonly<Record<string, string>> = {
  'page-overview': 'overview',
  'page-group': 'group-after-a-kill',
}
const MOST_BYTES = 200_000

const tests = ['--conditions=@tidemark/source', 'scripts/test.ts', 'tests/ui/pages.nightly.test.ts']
const { status } = spawnSync(process.execPath, tests, { cwd: ROOT, stdio: 'inherit' })
if (status !== 0) throw new Error('the tests of the page fail')
for (const [name, made] of Object.entries(PICTURES)) {
  for (const scheme of ['', '-dark']) {
    const from = join(ROOT, `.cache/ui/${made}${scheme}.png`)
    const { size } = statSync(from)
    if (size > MOST_BYTES) throw new Error(`${from} has ${size} bytes, above ${MOST_BYTES}`)
    copyFileSync(from, join(ROOT, `docs/pictures/${name}${scheme}.png`))
    console.log(`docs/pictures/${name}${scheme}.png: ${size} bytes`)
  }
}
