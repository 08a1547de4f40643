import type { Command } from 'commander'
import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { tidemark } from './commands/command-runner.child.ts'
import { loadCommands } from './load-commands.ts'

const context = {
  input: Readable.from([]),
  output: new PassThrough(),
  errors: new PassThrough(),
  interactive: false,
}
const commands = await loadCommands(undefined, context, () => undefined)
const every = commands.flatMap((command) => withSubcommands(command, []))
const all = every.map(({ path }) => path)

interface Place {
  readonly command: Command
  readonly path: readonly string[]
}

function withSubcommands(command: Command, above: readonly string[]): readonly Place[] {
  const path = [...above, command.name()]
  return [{ command, path }, ...command.commands.flatMap((sub) => withSubcommands(sub, path))]
}

test('there are commands to look at', () => {
  expect(all).toContainEqual(['leases', 'seek'])
  expect(all).toContainEqual(['queues', 'dlq', 'redrive'])
  expect(all.length).toBeGreaterThan(30)
})

test.each([[[]], ...all.map((path) => [path])])(
  'help of %j fits a terminal and ends',
  async (path) => {
    const { code, output } = await tidemark(...path, '--help')
    expect(code).toBe(0)
    expect(output.split('\n').filter((line) => line.length > 80)).toEqual([])
    for (const paragraph of output.trimEnd().split('\n\n')) {
      const lines = paragraph.split('\n')
      // Indented are examples and lists; a sentence goes to the width, and ends as sentences do.
      if (/^[A-Z][a-z ]+:$|^Usage:/.test(lines[0] ?? '')) continue
      expect(lines.at(-1)).toMatch(/[.]$|^ /)
      for (const [index, line] of lines.entries()) {
        const [word = ''] = (lines[index + 1] ?? '').split(' ')
        const isProse = !line.startsWith(' ') && !word.startsWith('{') && word !== ''
        if (isProse)
          expect(`${line} ${word}`.length, `breaks early: ${line}`).toBeGreaterThanOrEqual(80)
      }
    }
  },
)

test.each(every.map(({ command }) => command))(
  'options, arguments and purpose of $_name are described in one style',
  (command: Command) => {
    expect(command.description()).toMatch(/^[A-Z].*\.$/)
    expect(command.description()).not.toContain('\n')
    expect(command.summary()).toMatch(/^[a-z].*[^.]$/)
    const described = [...command.options, ...command.registeredArguments]
    for (const { description } of described) expect(description).toMatch(/^[^A-Z\s].*[^.\s]$/)
  },
)
