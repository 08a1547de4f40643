import type { Command } from 'commander'
import { portNumber } from '../arguments/parse-arguments.ts'

/** Options of `tidemark serve` for queues and topics. */
export interface QueueFlags {
  readonly amqpPort?: number
  readonly adminPort?: number
  readonly queues?: string
  readonly namespace?: string
  readonly accessPolicies?: string
  readonly insecureAmqp?: boolean
}

export function addQueueFlags(command: Command): Command {
  return command
    .optionsGroup('Queues and topics:')
    .option('--amqp-port <n>', 'serve clients of Azure Service Bus; 0 = any free one', portNumber())
    .option('--admin-port <n>', 'serve their administration over HTTP', portNumber())
    .option('--queues <file>', "create what a Config.json of Service Bus's emulator names")
    .option(
      '--namespace <name>',
      "database with the queues (default: the Config.json's namespace, or messages)",
    )
    .option('--access-policies <file>', 'file with further keys and their rights')
    .option('--insecure-amqp', 'allow AMQP without TLS on an address other than loopback')
}

/** What is wrong about these options together. */
export function problemOfQueueFlags(flags: QueueFlags): string | undefined {
  const { amqpPort, adminPort, queues, namespace, accessPolicies, insecureAmqp } = flags
  if (amqpPort === undefined && insecureAmqp === true) return '--insecure-amqp needs --amqp-port'
  if (amqpPort !== undefined || adminPort !== undefined) return undefined
  const useless = Object.entries({
    '--queues': queues,
    '--namespace': namespace,
    '--access-policies': accessPolicies,
  }).find(([, value]) => value !== undefined)
  return useless && `${useless[0]} needs --amqp-port or --admin-port`
}
