import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../repository.ts'
import { PARTS } from './parts.ts'

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

test('each part of the night has a name of its own', () => {
  const names = PARTS.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

test.each(PARTS)(
  'the part $name runs scripts of package.json',
  ({ command, long = command, beside = [] }) => {
    for (const each of [command, long]) expect(Object.keys(scripts)).toContain(each.split(' ')[0])
    for (const folder of beside) {
      expect(existsSync(join(ROOT, folder, 'package-lock.json'))).toBe(true)
    }
  },
)
