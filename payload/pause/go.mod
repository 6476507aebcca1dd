module muster.local/payload/pause

go 1.26.0
