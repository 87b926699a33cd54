/** A request that the gateway has refused. */
export class GatewayError extends Error {
    constructor(
        readonly status: number,
        readonly code: string,
        message: string,
        readonly activeRunId?: string,
    ) {
        super(message);
        this.name = 'GatewayError';
    }
}

/** The response, or the error that it carries. */
export async function checked(response: Response): Promise<Response> {
    if (response.ok) return response;
    const said = await response.json().catch(() => ({})) as { error?: { code?: string; message?: string; activeRunId?: string } };
    const { code = 'unknown', message = `HTTP ${response.status}`, activeRunId } = said.error ?? {};
    throw new GatewayError(response.status, code, message, activeRunId);
}
