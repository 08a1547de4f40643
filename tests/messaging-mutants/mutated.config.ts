import { defineConfig } from 'vitest/config'
import { mutate } from '../simulation/mutants/mutant.ts'
import { MESSAGE_MUTANTS } from './message-mutants.ts'

// Gives the sources of messages the edit of one mutant on their way to the compiler. No file is touched.

const SOURCES = new URL('../../packages/store/src/messages/', import.meta.url).pathname
const index = Number(process.env['TIDEMARK_MESSAGE_MUTANT'])
const mutant = MESSAGE_MUTANTS[index]
if (mutant === undefined) throw new Error(`no mutant ${index}`)
const { name, edit } = mutant

/** As in the configuration of all tests: sources in place of builds. */
const conditions = ['@tidemark/source', 'module', 'node', 'development|production']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['packages/**/src/**/*.test.ts', 'tests/interop-amqp/*.test.ts'],
    setupFiles: ['scripts/client-sockets.ts'],
    // One that fails is enough.
    bail: 1,
    execArgv: ['--conditions=@tidemark/source'],
    // What is kept between runs does not know of mutants.
    fsModuleCache: false,
  },
  plugins: [
    {
      name: 'message-mutant',
      enforce: 'pre' as const,
      transform(source: string, id: string): string | undefined {
        const file = id.startsWith(SOURCES) ? id.slice(SOURCES.length) : ''
        if (file !== edit.file) return undefined
        return mutate(file, source, { name, why: '', edits: [edit], killedBy: 0 })
      },
    },
  ],
})
