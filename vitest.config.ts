import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { SlowFirst } from './scripts/slow-first.ts'

// Threads and processes that run our TypeScript take its types off once for all of them. Node does that
// in WebAssembly, and hundreds of threads that each load it now and then end in a crash of V8
// (nodejs/node#64500); and opening a store takes half as long.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('node_modules/.cache/compile-cache', import.meta.url),
)

// Tests run the TypeScript sources of all packages, so that no build can be stale.
const conditions = ['@tidemark/source', 'module', 'node', 'development|production']

// Tests of templates are for `node --test`, in the project that they become.
const NEVER = ['**/node_modules/**', '**/dist/**', '**/.cache/**', '**/templates/**']
/** Repeats, real faults and long waits: `npm run nightly`. */
const NIGHTLY = '**/*.nightly.test.ts'
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'gate',
          setupFiles: ['scripts/no-sleeps.ts'],
          include: ['{packages,tests,examples,scripts,bench}/**/*.test.ts'],
          exclude: [...NEVER, NIGHTLY],
          // Files of one worker share its modules: to load them for each file took as long as the tests.
          isolate: false,
        },
      },
      {
        extends: true,
        // The library is installed beside the tests that use it.
        resolve: {
          alias: {
            testcontainers: fileURLToPath(
              new URL('tests/containers/node_modules/testcontainers', import.meta.url),
            ),
          },
        },
        test: { name: 'nightly', include: [NIGHTLY], exclude: NEVER },
      },
    ],
    pool: 'forks',
    // One more than the two cores of CI: while one worker waits for a server or a process, another works.
    maxWorkers: 3,
    sequence: { sequencer: SlowFirst },
    // Worker threads and child processes that pass `process.execArgv` on find the sources too.
    setupFiles: ['scripts/property-seed.ts', 'scripts/client-sockets.ts'],
    execArgv: ['--conditions=@tidemark/source'],
    // Real servers and processes on a busy machine: these only end what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    printConsoleTrace: false,
  },
})
