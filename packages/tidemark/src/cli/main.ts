#!/usr/bin/env node
import { processContext } from './command-context.ts'
import { runCommand } from './run-command.ts'

// A reader that goes away, as in `tidemark tail … | head`, is no failure.
process.stdout.on('error', () => {})
process.exitCode = await runCommand(process.argv.slice(2), processContext())
