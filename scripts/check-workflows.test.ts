import { expect, test } from 'vitest'
import { workflowProblems } from './check-workflows.ts'

const GOOD = `
on: push
permissions: {}
jobs:
  publish:
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    environment: npm
    permissions: { id-token: write }
    container: node:24@sha256:${'b'.repeat(64)}
    steps:
      - uses: actions/checkout@${'a'.repeat(40)} # v7.0.1
        with: { persist-credentials: false }
      - run: npm run -s build
`

const problemsOf = (text: string): string[] => workflowProblems(text, new Set(['build']))

test('what has least rights, a limit and digests is good', () => {
  expect(problemsOf(GOOD)).toEqual([])
})

test.each<readonly [string, string, unknown]>([
  ['permissions: {}', 'permissions: { contents: read }', 'permissions of the workflow are not {}'],
  ['permissions: {}', 'env: {}', 'permissions of the workflow are not {}'],
  ['    timeout-minutes: 10\n', '', 'publish: no timeout-minutes'],
  ['    permissions: { id-token: write }\n', '', 'publish: no permissions'],
  ['{ id-token: write }', 'write-all', 'publish: permissions are write-all'],
  ['    environment: npm\n', '', 'publish: id-token without an environment'],
  ['on: push', 'on: pull_request_target', 'is started by pull_request_target'],
  ['on: push', 'on: [push, workflow_run]', 'is started by workflow_run'],
  ['on: push', 'on: { pull_request_target: }', 'is started by pull_request_target'],
  ...['npm ci --ignore-scripts', 'npx knip', 'npm run build && npm install'].map(
    (run) => ['npm run -s build', run, 'publish: id-token where packages are installed'] as const,
  ),
  [`@sha256:${'b'.repeat(64)}`, '', 'publish: node:24 has no digest'],
  [`@${'a'.repeat(40)} #`, '@v7 #', 'actions/checkout@v7 is not owner/name@commit # v1.2.3'],
  [
    '- run: npm',
    '- { uses: a/b@v1 }\n      - run: npm',
    'a/b@v1 is not owner/name@commit # v1.2.3',
  ],
  [
    '  publish:',
    '  other: { uses: a/b@v1, permissions: {}, timeout-minutes: 1 }\n  publish:',
    'a/b@v1 is not owner/name@commit # v1.2.3',
  ],
  [' # v7.0.1', '', expect.stringContaining('is not owner/name@commit # v1.2.3')],
  ['false', 'true', 'publish: checkout leaves its credentials'],
  ['-s build', 'biuld', 'npm run biuld: package.json has no such script'],
])('%j as %j is found', (right, wrong, problem) => {
  expect(GOOD).toContain(right)
  expect(problemsOf(GOOD.replace(right, wrong))).toEqual([problem])
})
