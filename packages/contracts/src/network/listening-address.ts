/** A host that a client on this machine can connect to: the addresses that mean "every one" are none. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '[::1]' : bracketedHost(host)
}

/** As it stands in a URL. */
export function bracketedHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
