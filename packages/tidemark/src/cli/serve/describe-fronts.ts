import type { RunningFronts } from './start-fronts.ts'

/** Where the fronts listen, for programs. */
export function readyLine({ gateway, amqp, admin }: RunningFronts): object {
  return {
    ...(gateway && { endpoint: gateway.endpoint, address: gateway.address }),
    ...(amqp && { amqp: amqp.url }),
    ...(admin && { admin: admin.endpoint }),
    ready: true,
  }
}

/** The same for people, with who else can reach them, unless only this machine can. */
export function describeFronts({ gateway, amqp, admin }: RunningFronts): string {
  const places = [
    gateway && describeAddress(gateway.endpoint, gateway.address),
    amqp && describeAddress(amqp.url, amqp.address),
    admin && `${describeAddress(admin.endpoint, admin.address)} for administration`,
  ]
  return places.filter((place) => place !== undefined).join(', ')
}

function describeAddress(url: string, address: string): string {
  const { host, protocol } = new URL(url)
  if (host === address) return url
  const risk = ['https:', 'amqps:'].includes(protocol) ? '' : ', not encrypted'
  return `${url} (listening on ${address}${risk})`
}
