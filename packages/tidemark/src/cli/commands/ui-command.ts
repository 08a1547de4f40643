import { Command } from 'commander'
import { loadGateway } from '../../platform/optional-packages.ts'
import { portNumber } from '../arguments/parse-arguments.ts'
import { givenStore, storeArgument } from '../arguments/store-argument.ts'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import { openExistingStore } from '../open-existing-store.ts'
import {
  addLogFlags,
  commandLogger,
  failureReporter,
  type LogFlags,
} from '../output/command-logger.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { readCredentials } from '../serve/credentials-file.ts'
import { addPageFlags, CREDENTIALS_HELP, type PageFlags } from '../serve/page-flags.ts'
import { openPage } from '../serve/page.ts'
import { untilAborted } from '../serve/serve-store.ts'
import { readTls, type TlsFiles } from '../serve/tls-files.ts'

interface UiOptions extends PageFlags, LogFlags, TlsFiles {
  readonly port: number
  readonly host: string
  readonly readOnly?: boolean
  readonly insecureHttp?: boolean
  readonly json?: boolean
}

const PORT = 8082

const HELP = `
Shows databases, collections and their documents, groups with owners and lag of
each range, dead letters, queues and topics of a store, which other processes
may use meanwhile; and lets you pause, resume and move groups, release leases,
send dead letters back. Every action says first what it will do. It is a page
for a browser: open the address that the command prints.

On loopback it needs no password, and answers only calls to localhost,
127.0.0.1 and [::1]. On another address it needs credentials, and https
(--tls-cert, --tls-key) or --insecure-http.

${CREDENTIALS_HELP}

Examples:
  tidemark ui ./data
  tidemark ui postgres://localhost/app --leases redis://localhost --read-only
  tidemark ui ./data --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem \\
    --credentials-file ./people --environment production`

/** `tidemark ui`: the page of a store. */
export function uiCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('ui')
    .summary('show a store, its groups and queues in a browser')
    .description('Serves a page that shows a store, its processor groups and its queues.')
    .addArgument(storeArgument())
    .option('--port <n>', '0 = any free one', portNumber(), PORT)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--read-only', 'refuse everything that changes something')
    .option('--tls-cert <file>', 'certificate (PEM): serves https')
    .option('--tls-key <file>', 'its key (PEM)')
    .option('--insecure-http', 'allow plain http on an address other than loopback')
    .option('--json', 'print one JSON line when it answers')
  return addLogFlags(addPageFlags(command))
    .addHelpText('after', HELP)
    .action(async (store: string | undefined, options: UiOptions) => {
      if ((options.tlsCert === undefined) !== (options.tlsKey === undefined)) {
        command.error('error: --tls-cert and --tls-key go together\n')
      }
      finish(await ui(givenStore(store, command), options, context))
    })
}

async function ui(where: string, options: UiOptions, context: CommandContext): Promise<ExitCode> {
  const { serveRequests } = await loadGateway()
  using interruption = new Interruption()
  const { output } = context
  const { host, port, readOnly, insecureHttp } = options
  const credentials = await readCredentials(options.credentialsFile)
  const tls = await readTls(options)
  const onFailure = failureReporter(await commandLogger(options, context))
  await using store = await openExistingStore(where, { maintenance: 'manual' })
  await using page = await openPage({
    store,
    flags: options,
    host,
    credentials,
    readOnly,
    onFailure,
  })
  const listening = { host, port, tls, insecureHttp, onFailure, answer: page.fetch }
  await using served = await serveRequests(listening)
  const { endpoint, address } = served
  if (options.json === true) await writeJsonLine(output, { page: endpoint, address, ready: true })
  else
    await writeText(output, `the page of ${store.description} is at ${endpoint}; end with Ctrl-C\n`)
  await untilAborted(interruption.signal)
  return EXIT.ok
}
