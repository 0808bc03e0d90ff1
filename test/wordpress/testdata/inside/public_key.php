<?php
// Prints the public key that the settings page shows.
require __DIR__ . '/load.php';
$interlock_test_key = interlock_bridge_load_key();
echo interlock_bridge_jwk( $interlock_test_key['modulus'], $interlock_test_key['exponent'] );
