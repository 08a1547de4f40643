import { expect, test } from 'vitest'
import { importOptional } from './import-optional.ts'

/** As Node throws it. */
const notFound = (message: string, code = 'ERR_MODULE_NOT_FOUND'): Error =>
  Object.assign(new Error(message), { code })

async function failing(packages: readonly string[], error: Error): Promise<unknown> {
  return importOptional(packages, () => Promise.reject(error)).catch((reason: unknown) => reason)
}

test('a package that is not installed is named, with the command that installs it', async () => {
  const error = notFound("Cannot find package 'ioredis' imported from /app/main.js")
  expect(await failing(['ioredis'], error)).toMatchObject({
    code: 'ERR_MISSING_PACKAGE',
    message: 'this needs the package ioredis: npm install ioredis',
    packages: ['ioredis'],
    cause: error,
  })
})

test('when one of several is missing, the command installs all of them in their versions', async () => {
  const packages = ['@tidemark/otel', '@scope/exporter@0.301']
  for (const name of ['@tidemark/otel', '@scope/exporter']) {
    const error = notFound(`Cannot find package '${name}' imported from /app/main.js`)
    expect(await failing(packages, error)).toMatchObject({
      message:
        'this needs the packages @tidemark/otel and @scope/exporter: ' +
        'npm install @tidemark/otel @scope/exporter@0.301',
    })
  }
})

test('a missing package is recognised where a bundle requires it', async () => {
  const error = notFound(
    "Cannot find module 'pg'\nRequire stack:\n- /app/main.cjs",
    'MODULE_NOT_FOUND',
  )
  expect(await failing(['pg'], error)).toMatchObject({ code: 'ERR_MISSING_PACKAGE' })
})

test('every other failure is passed on as it is', async () => {
  for (const error of [
    notFound("Cannot find package 'debug' imported from /app/node_modules/ioredis/index.js"),
    notFound("Cannot find module '/app/node_modules/ioredis/gone.js' imported from /app/main.js"),
    notFound("Cannot find package 'ioredis' imported from /app/main.js", 'EACCES'),
    new Error("Cannot find package 'ioredis'"),
  ]) {
    expect(await failing(['ioredis'], error)).toBe(error)
  }
})

test('Node words a missing package so', async () => {
  const name = '@tidemark/never-published'
  const load = (): Promise<unknown> => import(/* @vite-ignore */ name)
  await expect(importOptional([name], load)).rejects.toMatchObject({ code: 'ERR_MISSING_PACKAGE' })
})
