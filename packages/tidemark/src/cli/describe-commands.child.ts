import { PassThrough, Readable } from 'node:stream'
import type { Command } from 'commander'
import { CHECK_EXIT, EXIT, exitCodesOf } from './exit-codes.ts'
import { loadCommands } from './load-commands.ts'
import { buildProgram } from './run-command.ts'

// For the page of commands: what commander knows of them, as JSON.
const output = new PassThrough()
const context = { input: Readable.from([]), output, errors: output, interactive: false }
const commands = await loadCommands(undefined, context, () => undefined)
const required = new Set(
  commands
    .flatMap(withSubcommands)
    .flatMap(({ options }) => options.filter(({ mandatory }) => mandatory)),
)
const program = buildProgram(commands, context)
console.log(
  JSON.stringify({
    description: program.description(),
    commands: commands.flatMap((command) => described(command, [])),
    exitCodes: EXIT,
    checkExitCodes: CHECK_EXIT,
  }),
)

function described(command: Command, above: readonly string[]): readonly object[] {
  const path = [...above, command.name()]
  const own = {
    name: path.join(' '),
    description: command.description(),
    usage: command.usage(),
    isGroup: command.commands.length > 0 && command.registeredArguments.length === 0,
    // Commander keeps it to itself, and its help does not show it.
    alone: Reflect.get(command, '_defaultCommandName') as unknown,
    arguments: command.registeredArguments.map((one) => ({
      name: one.name(),
      isRequired: one.required,
      isVariadic: one.variadic,
      description: one.description,
      byDefault: one.defaultValue as unknown,
    })),
    options: command.options
      .filter(({ hidden }) => !hidden)
      .map((one) => ({
        flags: one.flags,
        description: one.description,
        // Of `--no-x` commander has the default of x.
        byDefault: one.negate ? undefined : (one.defaultValue as unknown),
        defaultText: one.defaultValueDescription,
        choices: one.argChoices,
        variable: one.envVar,
        isRequired: required.has(one),
      })),
    exitCodes: exitCodesOf(path.join(' ')),
  }
  const visible = command.createHelp().visibleCommands(command)
  const below = command.commands.filter((sub) => visible.includes(sub))
  return [own, ...below.flatMap((sub) => described(sub, path))]
}

function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)]
}
