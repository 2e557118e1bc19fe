/** The door of secrets: their owner's side. */
export { fileSecretStore } from "./file_store.ts";
export { type RequestedSecret, requestedSecrets } from "./requested.ts";
export { memorySecretStore, type SecretStore } from "./store.ts";
export {
  openSecrets,
  type SecretBinding,
  type SecretRow,
  type Secrets,
  type TenantSecrets,
} from "./tenant_secrets.ts";
