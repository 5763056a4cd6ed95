package dial

import "crypto/ed25519"

// warmUp computes what Ed25519 needs to sign and to verify: Go does that when it is
// first used, which takes a millisecond or two, and nearly every login uses it. This
// key serves for nothing else.
func warmUp() {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	ed25519.Verify(key.Public().(ed25519.PublicKey), nil, ed25519.Sign(key, nil))
}
