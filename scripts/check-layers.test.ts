import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findLayerViolations } from './check-layers.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidemark-layers-'))
  write('package.json', {
    devDependencies: { '@tidemark/testing': '*', vitest: '*', tidemark: '*' },
  })
  addPackage('contracts')
  addPackage('store', ['contracts'])
  addPackage('processor', ['contracts'], { 'p-queue': '^10.0.0' })
  addPackage('testing', ['contracts', 'store', 'processor'])
  write('tsconfig.json', {
    references: ['contracts', 'store', 'processor', 'testing'].map((name) => ({
      path: `packages/${name}`,
    })),
  })
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path: string, content: unknown): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  writeFileSync(join(root, path), text)
}

function addPackage(
  name: string,
  needs: readonly string[] = [],
  others: Readonly<Record<string, string>> = {},
): void {
  const internal = Object.fromEntries(needs.map((need) => [`@tidemark/${need}`, '0.1.0']))
  write(`packages/${name}/package.json`, {
    name: `@tidemark/${name}`,
    exports: { '.': './dist/index.js', './package.json': './package.json' },
    dependencies: { ...internal, ...others },
  })
  write(`packages/${name}/tsconfig.json`, {
    references: needs.map((need) => ({ path: `../${need}` })),
  })
  write(`packages/${name}/src/index.ts`, `export { ${name} } from './${name}.ts'\n`)
  write(`packages/${name}/src/${name}.ts`, `export const ${name} = 1\n`)
}

/** Plants one file and expects exactly one violation, which names the file and matches `problem`. */
function expectViolation(path: string, text: string, problem: RegExp): void {
  write(path, text)
  const violations = findLayerViolations(root)
  expect(violations).toHaveLength(1)
  expect(violations[0]).toContain(path)
  expect(violations[0]).toMatch(problem)
}

test('a repository that keeps the arrows has no violation', () => {
  write('packages/store/src/feed/page.ts', `import { contracts } from '@tidemark/contracts'\n`)
  write(
    'packages/store/src/feed/page.nightly.test.ts',
    `import { testing } from '@tidemark/testing'\n`,
  )
  write(
    'packages/processor/src/pump.ts',
    `import PQueue from 'p-queue'\nimport 'node:assert/strict'\n`,
  )
  write('packages/processor/src/platform/clock.ts', `import 'node:timers/promises'\n`)
  write('tests/crash/main.ts', `import { testing } from '@tidemark/testing'\n`)
  expect(findLayerViolations(root)).toEqual([])
})

describe('imports between packages', () => {
  test('an upward import fails', () => {
    expectViolation(
      'packages/processor/src/pump.ts',
      `\nimport { store } from '@tidemark/store'\n`,
      /pump\.ts:2 imports '@tidemark\/store' against the arrows: .* may import @tidemark\/contracts/,
    )
  })

  test.each([
    [`export { store } from '@tidemark/store'`],
    [`import type { Store } from '@tidemark/store'`],
    [`export const store = await import('@tidemark/store')`],
    [`export type Store = import('@tidemark/store').Store`],
    [`export function open(store: import("@tidemark/store").Store): void {}`],
  ])('no form of import gets around it: %s', (text) => {
    expectViolation('packages/processor/src/pump.ts', text, /against the arrows/)
  })

  test('a deep import fails, also in tests and scripts', () => {
    write('tests/crash/main.ts', `import { testing } from '@tidemark/testing/dist/testing.js'\n`)
    write('packages/store/src/feed.ts', `import { hash } from '@tidemark/contracts/src/hash.ts'\n`)
    expect(findLayerViolations(root)).toEqual([
      expect.stringMatching(/^packages\/store\/src\/feed\.ts:1 .* deep imports are not allowed/),
      expect.stringMatching(/^tests\/crash\/main\.ts:1 .* deep imports are not allowed/),
    ])
  })

  test('a published entry below the root may be imported', () => {
    write('packages/contracts/package.json', {
      name: '@tidemark/contracts',
      exports: { '.': './dist/index.js', './client': './dist/client/index.js' },
    })
    write('packages/store/src/feed.ts', `import { client } from '@tidemark/contracts/client'\n`)
    expect(findLayerViolations(root)).toEqual([])
  })

  test('a relative path into another package fails', () => {
    expectViolation(
      'packages/store/src/feed.ts',
      `import { contracts } from '../../contracts/src/contracts.ts'\n`,
      /lies outside of packages\/store\/src/,
    )
  })

  test('a relative path from a test across packages into sources fails', () => {
    expectViolation(
      'tests/crash/main.ts',
      `import { store } from '../../packages/store/src/store.ts'\n`,
      /lies outside of tests/,
    )
  })

  test('an allowed import that is not declared fails', () => {
    write('packages/store/package.json', {
      name: '@tidemark/store',
      exports: { '.': './dist/index.js' },
    })
    write('packages/store/tsconfig.json', {})
    expectViolation(
      'packages/store/src/feed.ts',
      `import { contracts } from '@tidemark/contracts'\n`,
      /which packages\/store\/package\.json does not declare/,
    )
  })

  test('only tests import the testing package', () => {
    expectViolation(
      'packages/store/src/feed.ts',
      `import { testing } from '@tidemark/testing'\n`,
      /against the arrows/,
    )
  })

  test('an example declares what it imports', () => {
    write('examples/worker/package.json', { name: 'worker', dependencies: {} })
    expectViolation(
      'examples/worker/src/main.ts',
      `import { store } from '@tidemark/store'\n`,
      /which examples\/worker\/package\.json does not declare/,
    )
  })
})

describe('imports of other modules', () => {
  test('a library that is not declared fails', () => {
    expectViolation(
      'packages/store/src/feed.ts',
      `import PQueue from 'p-queue'\n`,
      /does not declare/,
    )
  })

  test('a test may import what the root declares', () => {
    write('packages/store/src/feed.test.ts', `import { test } from 'vitest'\n`)
    expect(findLayerViolations(root)).toEqual([])
  })

  test('I/O in a protocol package fails outside of platform/', () => {
    expectViolation(
      'packages/processor/src/pump.ts',
      `import { setTimeout } from 'node:timers/promises'\n`,
      /put this under platform\//,
    )
  })
})

describe('inside a package', () => {
  test('a cycle between folders fails, with the imports that make it', () => {
    write('packages/store/src/feed/page.ts', `import { write } from '../write/write.ts'\n`)
    write('packages/store/src/feed/cursor.ts', `export const cursor = 1\n`)
    write('packages/store/src/write/write.ts', `import { cursor } from '../feed/cursor.ts'\n`)
    expect(findLayerViolations(root)).toEqual([
      'packages/store: folders or files import each other in a cycle: ' +
        'feed -> write (packages/store/src/feed/page.ts:1), ' +
        'write -> feed (packages/store/src/write/write.ts:1)',
    ])
  })

  test('a cycle over three nested folders fails', () => {
    write('packages/store/src/a/x/one.ts', `import '../y/two.ts'\n`)
    write('packages/store/src/a/y/two.ts', `import '../z/three.ts'\n`)
    write('packages/store/src/a/z/three.ts', `import '../x/four.ts'\n`)
    write('packages/store/src/a/x/four.ts', `export const four = 4\n`)
    expect(findLayerViolations(root)).toEqual([
      expect.stringMatching(/cycle: a\/x -> a\/y .*, a\/y -> a\/z .*, a\/z -> a\/x /),
    ])
  })

  test('two files that import each other fail, also when they import only types', () => {
    write('packages/store/src/feed/page.ts', `import type { Cursor } from './cursor.ts'\n`)
    write('packages/store/src/feed/cursor.ts', `import { page } from './page.ts'\n`)
    expect(findLayerViolations(root)).toEqual([
      expect.stringMatching(
        /in a cycle: feed\/cursor\.ts -> feed\/page\.ts .*, feed\/page\.ts -> /,
      ),
    ])
  })

  test('importing the index, a path without .ts, or all of a file fails', () => {
    write('packages/store/src/a.ts', `import { store } from './index.ts'\n`)
    write('packages/store/src/b.ts', `import { store } from './store.js'\n`)
    write('packages/store/src/c.ts', `export * from './store.ts'\n`)
    expect(findLayerViolations(root)).toEqual([
      expect.stringMatching(/a\.ts:1 .* never the index/),
      expect.stringMatching(/b\.ts:1 .* ends in \.ts/),
      expect.stringMatching(/c\.ts:1 .* name what is exported/),
    ])
  })
})

describe('manifests', () => {
  test('contracts may not depend on anything', () => {
    addPackage('contracts', [], { lodash: '^4.0.0' })
    expect(findLayerViolations(root)).toEqual([
      expect.stringContaining('contracts has no runtime dependency'),
    ])
  })

  test('declaring an upward dependency fails even before it is imported', () => {
    addPackage('processor', ['contracts', 'store'])
    expect(findLayerViolations(root)).toEqual([
      `packages/processor/package.json declares '@tidemark/store' against the arrows`,
    ])
  })

  test('tsconfig references follow the declared dependencies', () => {
    write('packages/store/tsconfig.json', { references: [] })
    expect(findLayerViolations(root)).toEqual([
      expect.stringContaining("does not refer to '@tidemark/contracts'"),
    ])
  })

  test('a package without arrows is a violation', () => {
    addPackage('novel')
    const violations = findLayerViolations(root)
    expect(violations).toContainEqual(expect.stringContaining('has no arrows'))
    expect(violations).toContainEqual(expect.stringContaining('`tsc -b` leaves it out'))
  })
})

test('the command exits with 1 on a violation and with 0 without one', () => {
  const script = fileURLToPath(new URL('check-layers.ts', import.meta.url))
  const check = () => spawnSync(process.execPath, [script, root], { encoding: 'utf8' })
  expect(check()).toMatchObject({ status: 0, stdout: 'layers: no violation\n' })
  write('packages/store/src/feed.ts', `import PQueue from 'p-queue'\n`)
  const failed = check()
  expect(failed.status).toBe(1)
  expect(failed.stderr).toContain('packages/store/src/feed.ts:1')
})
