import type { AttachmentAdapter, CompleteAttachment, PendingAttachment } from '@assistant-ui/react';
import type { GatewayAgent } from '../gateway-agent.js';

type Part = { type: string; source?: { type: string; value: string; mimeType?: string } };
type Content = NonNullable<CompleteAttachment['content']>[number];

/**
 * Files of messages. Each is sent to the gateway once (POST …/parts), and the messages hold a link to it. Without
 * `server.public_url` the gateway has no links: then the messages hold the bytes.
 */
export class GatewayAttachments implements AttachmentAdapter {
    constructor(private readonly agent: GatewayAgent, private readonly threadId: string, readonly accept: string) {}

    async add({ file }: { file: File }): Promise<PendingAttachment> {
        return {
            id: crypto.randomUUID(),
            type: kindOf(file.type) === 'image' ? 'image' : 'document',
            name: file.name,
            contentType: file.type,
            file,
            status: { type: 'requires-action', reason: 'composer-send' },
        };
    }

    async send(attachment: PendingAttachment): Promise<CompleteAttachment> {
        const { file, ...rest } = attachment;
        const mimeType = file.type || 'application/octet-stream';
        const value = await base64Of(file);
        const sent = { type: kindOf(mimeType), source: { type: 'data', value, mimeType } };
        const path = `/threads/${encodeURIComponent(this.threadId)}/parts`;
        const response = await this.agent.request(path, { method: 'POST', body: JSON.stringify(sent) });
        const { source } = await response.json() as Part;
        const url = source?.type === 'url' ? source.value : `data:${mimeType};base64,${value}`;
        return { ...rest, status: { type: 'complete' }, content: [contentOf(url, mimeType, file.name)] };
    }

    async remove(): Promise<void> {} // The gateway forgets a file that no message uses.
}

function kindOf(mimeType: string): string {
    const kind = mimeType.split('/')[0]!;
    return ['image', 'audio', 'video'].includes(kind) ? kind : 'document';
}

function contentOf(url: string, mimeType: string, filename: string): Content {
    if (kindOf(mimeType) === 'image') return { type: 'image', image: url, filename };
    return { type: 'file', data: url, mimeType, filename, ...(!url.startsWith('data:') && { sourceType: 'url' }) } as Content;
}

async function base64Of(file: File): Promise<string> {
    const read = new FileReader();
    const url = await new Promise<string>((resolve, reject) => {
        read.onload = () => resolve(read.result as string);
        read.onerror = () => reject(read.error);
        read.readAsDataURL(file);
    });
    return url.slice(url.indexOf(',') + 1);
}
