#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

// Compiled code is kept for the next start, in the system's folder for temporary files: a command begins in half
// the time. Before anything else is loaded, and for the threads of the engine too.
const { directory } = enableCompileCache()
if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] ??= directory
const { processContext } = await import('./command-context.ts')
const { runCommand } = await import('./run-command.ts')

// A reader that goes away, as in `tidemark tail … | head`, is no failure.
process.stdout.on('error', () => {})
process.exitCode = await runCommand(process.argv.slice(2), processContext())
