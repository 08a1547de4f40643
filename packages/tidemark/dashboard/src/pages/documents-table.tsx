import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { DocumentRow } from '../../../src/dashboard/views.ts'
import { count } from '../format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { Moment } from '../ui/time.tsx'
import { CutText } from '../ui/cut-text.tsx'

export interface DocumentsTableProps {
  readonly caption: string
  readonly documents: readonly DocumentRow[]
  readonly empty: string
}

const KINDS: Readonly<Record<DocumentRow['kind'], string>> = {
  document: 'document',
  pendingDelete: 'pending delete',
  create: 'create',
  replace: 'replace',
  delete: 'delete',
}

export function DocumentsTable({ caption, documents, empty }: DocumentsTableProps): VNode {
  const [opened, setOpened] = useState<DocumentRow | undefined>()
  const columns = useMemo(() => columnsOf(setOpened), [])
  return (
    <>
      <Table caption={caption} rows={documents} columns={columns} maxRows={16} empty={empty} />
      {opened !== undefined && (
        <DocumentDialog document={opened} onClose={() => setOpened(undefined)} />
      )}
    </>
  )
}

function columnsOf(open: (document: DocumentRow) => void): readonly Column<DocumentRow>[] {
  return [
    {
      key: 'id',
      title: 'Id',
      width: 130,
      isRowHeader: true,
      cell: (document) => (
        <button type="button" class="bare link" onClick={() => open(document)}>
          {document.documentId}
        </button>
      ),
    },
    {
      key: 'key',
      title: 'Key',
      width: 120,
      cell: ({ key }) => <span class="mono">{key}</span>,
    },
    { key: 'kind', title: 'Kind', width: 110, isWideOnly: true, cell: ({ kind }) => KINDS[kind] },
    {
      key: 'lsn',
      title: 'LSN',
      width: 72,
      isNumber: true,
      cell: ({ lsn }) => (lsn === null ? '–' : count(lsn)),
    },
    {
      key: 'changed',
      title: 'Changed',
      width: 150,
      isWideOnly: true,
      cell: ({ changedMs }) => <Moment ms={changedMs} />,
    },
    {
      key: 'text',
      title: 'Text',
      width: 220,
      grows: true,
      cell: ({ text }) => <span class="mono muted">{text?.replaceAll(/\s+/g, ' ') ?? ''}</span>,
    },
  ]
}

interface DocumentDialogProps {
  readonly document: DocumentRow
  readonly onClose: () => void
}

function DocumentDialog({ document: shown, onClose }: DocumentDialogProps): VNode {
  return (
    <Dialog
      isWide
      title={shown.documentId}
      onClose={onClose}
      foot={
        <button type="button" onClick={onClose}>
          Close
        </button>
      }
    >
      <dl class="facts">
        <dt>Partition key</dt>
        <dd class="mono">{shown.key}</dd>
        <dt>Kind</dt>
        <dd>{KINDS[shown.kind]}</dd>
        <dt>LSN</dt>
        <dd>{shown.lsn === null ? '–' : count(shown.lsn)}</dd>
        <dt>Changed</dt>
        <dd>
          <Moment ms={shown.changedMs} />
        </dd>
      </dl>
      <CutText label="Text of the document" text={shown.text} isCut={shown.isCut} />
    </Dialog>
  )
}
