import { errorCode } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { accessRule, type AccessOptions } from './access.ts'

const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` })

async function judge(
  options: AccessOptions,
  headers: Record<string, string> = {},
  host = 'localhost:8080',
): Promise<readonly [status: number, code: string | undefined]> {
  const refused = await accessRule(options)(new Request(`http://${host}/`, { headers }))
  if (refused === undefined) return [200, undefined]
  const { code } = (await refused.json()) as { code?: string }
  return [refused.status, code]
}

test('what listens beyond loopback, or nobody knows where, needs credentials or a guard', () => {
  for (const host of [undefined, '0.0.0.0', '::', '192.168.1.7', 'example.com']) {
    const options = { host }
    expect(() => accessRule(options)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
    )
    expect(() => accessRule({ host, credentials: {} })).toThrow(/credentials/)
    expect(() => accessRule({ host, credentials: { basic: [], bearer: [] } })).toThrow(/guard/)
    accessRule({ host, credentials: { bearer: ['token'] } })
    accessRule({ host, guard: () => false })
  }
  for (const host of ['127.0.0.1', 'localhost', '::1']) accessRule({ host })
})

test('malformed credentials are refused, and not shown', () => {
  for (const wrong of ['secret', 'user:', ':secret', '']) {
    try {
      accessRule({ credentials: { basic: [wrong] } })
      expect.unreachable()
    } catch (error) {
      expect(errorCode(error)).toBe('ERR_INVALID_OPTION')
      expect(String(error)).not.toContain('secret')
    }
  }
})

test('on loopback only the names of this machine are served, so a foreign name leads nowhere', async () => {
  const local = { host: '127.0.0.1' }
  for (const host of ['localhost', '127.0.0.1:80', '[::1]:4', 'tidemark.localhost']) {
    expect(await judge(local, {}, host)).toEqual([200, undefined])
  }
  for (const host of [
    'evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    'localhost.evil.example',
  ]) {
    expect(await judge(local, {}, host)).toEqual([403, 'ERR_WRONG_HOST'])
    expect(await judge(local, { host }, 'localhost')).toEqual([403, 'ERR_WRONG_HOST'])
  }
  const allowedHosts = ['Tidemark.example']
  expect(await judge({ ...local, allowedHosts }, {}, 'tidemark.example:8443')).toEqual([
    200,
    undefined,
  ])
  expect(await judge({ ...local, allowedHosts }, {}, 'tidemark.example')).toEqual([200, undefined])
  // Elsewhere, who it is counts, not how the server is called.
  const remote = { host: '0.0.0.0', credentials: { bearer: ['t'] } }
  expect(await judge(remote, { authorization: 'Bearer t' }, 'any.example')).toEqual([
    200,
    undefined,
  ])
})

test('a page of another site may link here, and makes a browser load nothing', async () => {
  const from = (site: string, dest: string) => ({
    'sec-fetch-site': site,
    'sec-fetch-dest': dest,
  })
  for (const options of [{ host: '127.0.0.1' }, { guard: () => true }]) {
    for (const site of ['cross-site', 'same-site']) {
      for (const dest of ['image', 'script', 'iframe', 'empty']) {
        expect(await judge(options, from(site, dest))).toEqual([403, 'ERR_CROSS_SITE'])
      }
      expect(await judge(options, from(site, 'document'))).toEqual([200, undefined])
    }
    expect(await judge(options, from('same-origin', 'empty'))).toEqual([200, undefined])
    expect(await judge(options, from('none', 'image'))).toEqual([200, undefined])
  }
})

test('one right password or token passes; a wrong one, none, or one of the other scheme does not', async () => {
  const credentials = { basic: ['ada:pass:word', 'grace:höher'], bearer: ['token-1', 'token-2'] }
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    const options = { host, credentials }
    for (const headers of [
      basic('ada:pass:word'),
      basic('grace:höher'),
      { authorization: 'Bearer token-2' },
      { authorization: 'bearer token-1' },
    ]) {
      expect(await judge(options, headers)).toEqual([200, undefined])
    }
    for (const headers of [
      {},
      basic('ada:pass'),
      basic('ada:pass:word '),
      basic('token-1'),
      { authorization: 'Bearer' },
      { authorization: 'Bearer token-3' },
      { authorization: 'Bearer ada:pass:word' },
      { authorization: 'Digest token-1' },
    ]) {
      expect(await judge(options, headers)).toEqual([401, 'ERR_UNAUTHORIZED'])
    }
  }
})

test('a browser asks its user for a password only where there is one', async () => {
  const asked = async (options: AccessOptions) =>
    (await accessRule(options)(new Request('http://localhost/')))?.headers.get('www-authenticate')
  expect(await asked({ credentials: { basic: ['a:b'], bearer: ['t'] } })).toMatch(/^Basic realm=/)
  expect(await asked({ credentials: { bearer: ['t'] } })).toBe('Bearer')
})

test('a guard decides, also with an answer of its own; beside credentials both have to agree', async () => {
  expect(await judge({ guard: () => true })).toEqual([200, undefined])
  expect(await judge({ guard: async () => false })).toEqual([403, 'ERR_FORBIDDEN'])
  const own = () => Response.json({ code: 'ERR_OWN' }, { status: 418 })
  expect(await judge({ guard: own })).toEqual([418, 'ERR_OWN'])
  const both = { credentials: { bearer: ['t'] }, guard: () => false }
  expect(await judge(both)).toEqual([401, 'ERR_UNAUTHORIZED'])
  expect(await judge(both, { authorization: 'Bearer t' })).toEqual([403, 'ERR_FORBIDDEN'])
})
