module muster.local/payload/certificates

go 1.26.0

require golang.org/x/crypto/x509roots/fallback v0.0.0-20261020153306-9f2b28d4331a
