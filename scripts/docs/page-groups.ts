import type { PageGroup } from './sidebar.ts'

/** The order in which the site lists the pages of docs/. Titles are those of the pages. */
export const PAGE_GROUPS: readonly PageGroup[] = [
  {
    title: 'Start',
    pages: ['index.md', 'concepts.md', 'when-not-to-use-it.md'],
  },
  {
    title: 'Tutorials',
    pages: [
      'tutorials/first-worker.md',
      'tutorials/first-view.md',
      'tutorials/first-queue.md',
      'tutorials/from-azure.md',
    ],
  },
  {
    title: 'Guarantees and comparisons',
    pages: ['guarantees.md', 'performance.md', 'security.md', 'comparison.md', 'comparison/'],
    collapsed: true,
  },
  {
    title: 'Workers',
    pages: [
      'guide/failing-observers.md',
      'guide/testing-observers.md',
      'guide/views.md',
      'guide/sinks.md',
      'guide/migration.md',
      'guide/nestjs.md',
    ],
  },
  {
    title: 'Data',
    pages: [
      'guide/time-to-live.md',
      'guide/unique-keys.md',
      'guide/splits.md',
      'guide/postgresql.md',
      'guide/backup.md',
      'engines.md',
    ],
  },
  {
    title: 'Queues and topics',
    pages: [
      'guide/queues.md',
      'guide/messages.md',
      'guide/topics-and-rules.md',
      'guide/sessions.md',
      'guide/expiry.md',
      'guide/dead-letters.md',
      'guide/scheduling.md',
      'guide/outbox.md',
      'guide/feeds-and-queues.md',
    ],
  },
  {
    title: 'Azure and HTTP',
    pages: [
      'guide/azure.md',
      'guide/from-dotnet-and-java.md',
      'gateway.md',
      'guide/gateway-queries.md',
      'guide/http.md',
      'guide/service-bus-clients.md',
      'guide/service-bus-languages.md',
      'guide/service-bus-administration.md',
    ],
  },
  {
    title: 'Operation',
    pages: [
      'guide/page.md',
      'guide/command-line.md',
      'guide/operations.md',
      'guide/monitoring.md',
      'guide/telemetry.md',
      'guide/scaling.md',
    ],
  },
  { title: 'Recipes', pages: ['recipes/README.md', 'recipes/'], collapsed: true },
  {
    title: 'Reference',
    pages: [
      'reference/options.md',
      'errors.md',
      'reference/events.md',
      'reference/metrics.md',
      'reference/commands.md',
      'compatibility.md',
      'upgrading.md',
      'GLOSSARY.md',
    ],
  },
  { title: 'Specification', pages: ['spec/README.md', 'spec/'], collapsed: true },
  {
    title: 'For maintainers',
    pages: ['maintaining.md', 'releasing.md', 'decisions/'],
    collapsed: true,
  },
]
