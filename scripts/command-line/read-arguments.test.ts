import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { flag, oneOf, parseCommandLine, positive, text, whole } from './read-arguments.ts'

const OPTIONS = {
  sequences: whole(1, 10),
  seed: whole(0),
  engine: oneOf(['memory', 'sqlite'], 'memory'),
  'at-once': whole(1, 3),
  seconds: positive(),
  json: text(),
  list: flag(),
}
const parse = (...args: readonly string[]) => parseCommandLine(args, OPTIONS, 'optionsOnly')

test('values have the types of their options, and their defaults when they are not given', () => {
  expect(parse().values).toEqual({
    sequences: 10,
    seed: undefined,
    engine: 'memory',
    'at-once': 3,
    seconds: undefined,
    json: undefined,
    list: false,
  })
  const given = ['--sequences=2', '--seed', '0', '--engine', 'sqlite', '--seconds', '0.5', '--list']
  expect(parse(...given).values).toMatchObject({
    sequences: 2,
    seed: 0,
    engine: 'sqlite',
    seconds: 0.5,
    list: true,
  })
})

test.each([
  [['--sequnces', '5'], 'unknown option --sequnces (did you mean --sequences?)'],
  [['--at-one', '5'], 'unknown option --at-one (did you mean --at-once?)'],
  [['--seq', '5'], 'unknown option --seq (did you mean --sequences?)'],
  [['--colour'], 'unknown option --colour'],
  [['--toString'], 'unknown option --toString'],
  [['--engine', 'sqllite'], '--engine must be one of memory, sqlite, got "sqllite"'],
  [['--sequences', '0'], '--sequences must be a whole number, 1 or more, got "0"'],
  [['--seed', '1.5'], '--seed must be a whole number, 0 or more, got "1.5"'],
  [['--seconds', ''], '--seconds must be a number above 0, got ""'],
  [['--json'], '--json needs a value: a text'],
  [['--list=yes'], '--list takes no value'],
  [['5'], 'unexpected argument "5"'],
])('%j is told by name: %s', (args, message) => {
  expect(() => parse(...args)).toThrow(expect.objectContaining({ name: 'UsageError', message }))
})

test('arguments without a name are kept where they are allowed', () => {
  const line = parseCommandLine(['a', '--list', 'b'], OPTIONS, 'positionals')
  expect(line.positionals).toEqual(['a', 'b'])
})

test('every development command reads its arguments here', () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const files = globSync('{scripts,tests,bench}/**/{main,conformance,properties}.ts', { cwd })
  const reading = files.filter((file) =>
    /process\.argv|parseArgs/.test(readFileSync(`${cwd}${file}`, 'utf8')),
  )
  expect(files.length).toBeGreaterThan(12)
  expect(reading).toEqual([])
})
