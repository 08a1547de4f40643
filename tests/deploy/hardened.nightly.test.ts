import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { LOCALHOST_TLS } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { documentsOf, only, resource, ROOT } from './files.fixture.ts'
import { healthCheck } from './health-check.fixture.ts'

// What the files ask of those who run them: no root, no capability, nothing written outside a volume, limits, images by digest.

interface Service {
  readonly image?: string
  readonly build?: string
  readonly user?: string
}

const PINNED = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/
/** Their own image says another user than root: nobody, and 472. */
const NOT_ROOT_ANYWAY = /^(?:prom\/prometheus|grafana\/grafana):/

const SERVICES = ['../docker-compose.yml', 'compose.yaml'].flatMap((file) => {
  const { services } = only(documentsOf(file)) as { readonly services: Record<string, Service> }
  return Object.entries(services).map(([name, service]) => [`${name} of ${file}`, service] as const)
})

test.each(SERVICES)('%s may do nothing that it need not', (_name, service) => {
  const { image, build, user } = service
  expect(service).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    mem_limit: expect.any(String) as string,
  })
  if (build === undefined) {
    expect(image).toMatch(PINNED)
    if (!NOT_ROOT_ANYWAY.test(image ?? '')) expect(user).toMatch(/^(?:redis|postgres)$/)
  } else {
    // Ours, which is not root either.
    expect([image, user]).toEqual([undefined, undefined])
  }
})

test.each(['Dockerfile', 'packages/create-tidemark/templates/common/Dockerfile'])(
  '%s runs as another user than root, and without npm',
  (file) => {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
    const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
    const user = last.indexOf('USER node')
    expect(user).toBeGreaterThan(0)
    // What is written before is root's: only what runs as node.
    expect(last.slice(user).filter((line) => /^(?:RUN|COPY|ADD|USER root)\b/.test(line))).toEqual(
      [],
    )
    expect(last.filter((line) => /^(?:ENTRYPOINT|CMD) \["node"/.test(line))).toHaveLength(1)
  },
)

test('the image is made of one base, by its digest', () => {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
  expect(bases).toHaveLength(3)
  expect(only([...new Set(bases)])).toMatch(PINNED)
})

test.each(['gateway.yaml', 'worker.yaml'])('the pods of %s keep to restricted rules', (file) => {
  const { containers, ...pod } = resource(file, 'Deployment').spec.template.spec
  expect(pod).toMatchObject({
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  })
  expect(only(containers)).toMatchObject({
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    resources: {
      requests: { cpu: expect.any(String) as string, memory: expect.any(String) as string },
      limits: { memory: expect.any(String) as string },
    },
  })
})

test('the health check of the image takes any certificate, and only 200 is healthy', async () => {
  let status = 200
  const server = createServer(LOCALHOST_TLS, (_request, response) => {
    response.writeHead(status).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    expect(await healthCheck(endpoint)).toBe(0)
    status = 503
    expect(await healthCheck(endpoint)).toBe(1)
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
