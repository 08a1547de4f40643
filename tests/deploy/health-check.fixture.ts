import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { ROOT } from './files.fixture.ts'

/** Runs the health check of the image, and returns its exit code. */
export async function healthCheck(endpoint: string): Promise<number | null> {
  const image = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const [, url = ''] = /^ENV HEALTH_URL=(.*)$/m.exec(image) ?? []
  const [, command = ''] = /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(image) ?? []
  const [program, ...args] = JSON.parse(command) as string[]
  expect(program).toBe('node')
  const HEALTH_URL = new URL(new URL(url).pathname, endpoint).href
  const check = spawn(process.execPath, args, { env: { HEALTH_URL } })
  const [code] = (await once(check, 'exit')) as [code: number | null]
  return code
}
