import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<
    Record<
      string,
      { readonly link?: true; readonly integrity?: string; readonly resolved?: string }
    >
  >
}
const installed = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && link !== true,
)

test('the lock file says of every package what its content must be', () => {
  expect(installed.length).toBeGreaterThan(100)
  expect(installed.filter(([, { integrity }]) => integrity === undefined)).toEqual([])
})

test('the lock file names no registry host, so that any registry will do', () => {
  expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
})
