import { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { candidates, type CompletionSource } from '../completion/candidates.ts'
import { placesInStore } from '../completion/places-in-store.ts'
import { SHELL_SCRIPTS } from '../completion/shell-scripts.ts'
import { writeText } from '../output/json-lines.ts'

const HELP = `
Completes commands, their options, and names of databases and collections in the
folder of --store or TIDEMARK_STORE. It asks no store on PostgreSQL.

Examples:
  source <(tidemark completion bash)      # in ~/.bashrc
  source <(tidemark completion zsh)       # in ~/.zshrc, after compinit
  tidemark completion fish | source       # in ~/.config/fish/config.fish`

/** `tidemark completion`: what the Tab key of a shell uses. */
export function completionCommand(
  context: CommandContext,
  commands: Omit<CompletionSource, 'places'>,
): Command {
  const command = new Command('completion')
    .summary('complete commands and names by the Tab key of a shell')
    .description('Prints a script for a shell, so that its Tab key completes what you type.')
    .addHelpText('after', HELP)
  for (const [shell, script] of SHELL_SCRIPTS) {
    command.addCommand(scriptCommand(shell, script, context))
  }
  return command.addCommand(wordsCommand(context, commands), { hidden: true })
}

function scriptCommand(shell: string, script: string, { output }: CommandContext): Command {
  return new Command(shell)
    .summary(`print the script for ${shell}`)
    .description(`Prints the script for ${shell}.`)
    .addHelpText('after', HELP)
    .action(async () => {
      await writeText(output, script)
    })
}

/** The scripts run it. */
function wordsCommand(
  { output }: CommandContext,
  commands: Omit<CompletionSource, 'places'>,
): Command {
  return new Command('words')
    .summary('print what the last word can become')
    .description('Prints what the last of the words can become, one on each line.')
    .argument('[words...]', 'what was typed after tidemark, after --')
    .action(async (words: readonly string[]) => {
      const found = await candidates(words, { ...commands, places: placesInStore })
      await writeText(output, found.map((word) => `${word}\n`).join(''))
    })
}
