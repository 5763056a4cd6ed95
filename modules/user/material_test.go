package user

// Two keys that were made for these tests, and their fingerprints from ssh-keygen -l.
const (
	annKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEEOGX6xGnshsMq9mlK8nWv1NyVHqIXcMQupHjJtBaJA ann@home"
	annPrint = "SHA256:MGMDd2ZbJRqAj/639QyDPszbR1TT8lGruR/MKh86Bu4"
	beaKey   = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBMMfLh/eWCm0doPklsg05CRAApfxipH6OGt1b0827REOH/psJujPkUtrA9hlPfQyezHedUDfhcpKViZISzDIpOU= bea@home"
	beaPrint = "SHA256:OrFDE2Zx5x07p0Yk6/XEw8wdQWnIMSZwCOQPcqxbIPI"
)
