import { defineConfig } from 'vitest/config'

// Tests run the TypeScript sources of all packages, so that no build can be stale.
const conditions = ['@tidemark/source', 'module', 'node', 'development|production']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: [
      'packages/**/src/**/*.test.ts',
      'tests/**/*.test.ts',
      'examples/**/*.test.ts',
      'scripts/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', '**/dist/**', '**/.cache/**'],
    pool: 'forks',
    maxWorkers: 2,
    // Worker threads and child processes that pass `process.execArgv` on find the sources too.
    execArgv: ['--conditions=@tidemark/source'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    printConsoleTrace: false,
  },
})
