import { hostname } from 'node:os'
import { Option } from 'commander'

/** `--host-name` of commands that work as a host. */
export function hostNameOption(): Option {
  const byDefault = `${hostname()}-${process.pid}`
  return new Option('--host-name <name>', 'name of this worker').default(
    byDefault,
    'machine name and process id',
  )
}
