import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

interface Locked {
  readonly link?: true
  readonly integrity?: string
  readonly resolved?: string
}

describe.each(['package-lock.json', 'site/package-lock.json'])('%s', (path) => {
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>
  }
  const installed = Object.entries(packages).filter(
    ([name, { link }]) => name.includes('node_modules/') && link !== true,
  )

  test('the lock file says of every package what its content must be', () => {
    expect(installed.length).toBeGreaterThan(100)
    expect(installed.filter(([, { integrity }]) => integrity === undefined)).toEqual([])
  })

  test('the lock file names no registry host, so that any registry will do', () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  })
})
