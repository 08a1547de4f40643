import * as attributes from '@opentelemetry/semantic-conventions/incubating'
import { expect, test } from 'vitest'
import { ATTRIBUTE, OWN } from './attributes.ts'
import { METRICS } from './metrics.ts'

const KNOWN: ReadonlySet<unknown> = new Set(Object.values(attributes))

test('attributes and metrics that are not our own are those of the conventions', () => {
  for (const name of Object.values(ATTRIBUTE)) expect(KNOWN).toContain(name)
  for (const { name } of METRICS) {
    if (!name.startsWith('tidemark.')) expect(KNOWN).toContain(name)
  }
})

test('our own begin with our name', () => {
  for (const name of Object.values(OWN)) expect(name).toMatch(/^tidemark\.[a-z._]+$/)
  for (const { name } of METRICS) expect(name).toMatch(/^[a-z][a-z0-9._]+$/)
})
