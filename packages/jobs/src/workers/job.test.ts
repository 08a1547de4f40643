import { describe, expect, test } from 'vitest'
import { Job, type RunningJob } from './job.ts'

/** Is never caught up. */
class EndlessJob extends Job<RunningJob> {
  protected async open(): Promise<RunningJob> {
    return {
      caughtUp: ({ signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
        }),
      close: async () => {},
    }
  }
}

describe('a job that stops when it has caught up, ended before it has: finished resolves', () => {
  test('by stop', async () => {
    const job = new EndlessJob('the job', { stopWhenCaughtUp: true })
    await job.start()
    await job.stop()
    await expect(job.finished).resolves.toBeUndefined()
  })

  test('by its signal', async () => {
    const ended = new AbortController()
    const job = new EndlessJob('the job', { stopWhenCaughtUp: true, signal: ended.signal })
    await job.start()
    ended.abort()
    await expect(job.finished).resolves.toBeUndefined()
  })

  test('by stop while it starts', async () => {
    const job = new EndlessJob('the job', { stopWhenCaughtUp: true })
    const started = job.start()
    await job.stop()
    await started
    await expect(job.finished).resolves.toBeUndefined()
  })
})
