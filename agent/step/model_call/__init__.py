"""One model call: admitted, streamed into the journal, charged, retried."""
