import { Command, CommanderError } from 'commander'
import { archiveCommand } from './commands/archive-command.ts'
import { dlqCommand } from './commands/dlq-command.ts'
import { importCommand } from './commands/import-command.ts'
import { lagCommand } from './commands/lag-command.ts'
import { leasesCommand } from './commands/leases-command.ts'
import { migrateCommand } from './commands/migrate-command.ts'
import { rangesCommand } from './commands/ranges-command.ts'
import { storeCommand } from './commands/store-command.ts'
import { tailCommand } from './commands/tail-command.ts'
import { ttlCommand } from './commands/ttl-command.ts'
import type { CommandContext } from './command-context.ts'
import { CHECK_EXIT, EXIT, EXIT_CODE_HELP, type ExitCode } from './exit-codes.ts'
import type { Finish } from './finish.ts'
import { errorLine } from './output/report-error.ts'
import { packageVersion } from './package-version.ts'

/** Runs the command of these arguments. Never rejects: what goes wrong is told on the error output. */
export async function runCommand(
  args: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const program = buildProgram(context, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    // Commander has told it already, and asks for help with 0.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
    if (error instanceof CommanderError) return args[0] === 'lag' ? CHECK_EXIT.unknown : EXIT.usage
    context.errors.write(`${errorLine(error)}\n`)
    return EXIT.failure
  }
}

function buildProgram(context: CommandContext, finish: Finish): Command {
  const program = new Command('tidemark')
    .description(
      'Work on a Tidemark store from the shell: fill collections, follow their changes, copy them\n' +
        'into others while writes go on, archive what expires. A store is a folder, or\n' +
        'postgres://user@host/database?schema=name; several processes may use it at once.',
    )
    .version(packageVersion())
  const commands = [
    migrateCommand(context, finish),
    leasesCommand(context, finish),
    lagCommand(context, finish),
    dlqCommand(context, finish),
    tailCommand(context, finish),
    importCommand(context, finish),
    ttlCommand(context),
    archiveCommand(context, finish),
    rangesCommand(context),
    storeCommand(context, finish),
  ]
  for (const command of commands) program.addCommand(command)
  program.addHelpText('after', EXIT_CODE_HELP)
  for (const command of [program, ...commands, ...commands.flatMap((each) => each.commands)]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.output.write(text),
      writeErr: (text) => context.errors.write(text),
      outputError: (text, write) => {
        write(`tidemark: ERR_USAGE: ${text.replace(/^error: /, '')}`)
      },
    })
  }
  return program
}
