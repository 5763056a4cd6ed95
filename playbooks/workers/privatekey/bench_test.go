package privatekey

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"testing"
)

// BenchmarkFind searches large files.
func BenchmarkFind(b *testing.B) {
	random := make([]byte, 32<<20)
	_, _ = rand.Read(random)
	for name, data := range map[string][]byte{
		"binary": random, "text": bytes.Repeat([]byte("server { listen 80; Server_name x; location / { root /var/www; } }\n"), 500_000), "base64": []byte(base64.StdEncoding.EncodeToString(random)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				Find(data)
			}
		})
	}
}
