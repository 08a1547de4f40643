import { expect, test } from 'vitest'
import { readTutorial } from './read-tutorial.ts'

const fence = (info: string, text: string) => `\`\`\`${info}\n${text}\n\`\`\`\n\n`

test('a page is files, commands with what they print, and terminals', () => {
  const page = [
    '# A page\n\n',
    'Make a file `a.ts`:\n\n',
    fence('ts file=a.ts', 'await work()'),
    fence('sh exit=1 soon', 'node b.ts\nnode c.ts'),
    'It prints:\n\n',
    fence('text', 'b\nc'),
    fence('sh terminal=one', 'node a.ts'),
    fence('text terminal=one,two press=Ctrl+C', 'ready'),
  ].join('')
  expect(readTutorial(page)).toEqual([
    { kind: 'file', line: 5, name: 'a.ts', text: 'await work()\n' },
    {
      kind: 'run',
      line: 9,
      script: 'node b.ts\nnode c.ts\n',
      exitCode: 1,
      soon: true,
      output: ['b', 'c'],
    },
    { kind: 'start', line: 21, terminal: 'one', command: 'node a.ts' },
    { kind: 'printed', line: 25, terminals: ['one', 'two'], interrupt: true, output: ['ready'] },
  ])
})

test.each([
  ['a fence that nobody makes or runs', fence('ts', 'await work()'), '1: this is neither'],
  ['a file that no reader knows of', `Make it:\n\n${fence('ts file=a.ts', '')}`, '3: the reader'],
  ['output of nothing', fence('text', 'hello'), '1: no commands'],
  ['a word that has no meaning', fence('sh later', 'node a.ts'), '1: a sh fence has no later'],
])('%s is refused', (_what, page, message) => {
  expect(() => readTutorial(page)).toThrow(message)
})
