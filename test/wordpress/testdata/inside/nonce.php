<?php
// Prints the nonce of the form for the session whose cookie is the argument, as
// a page would print it that the person is not shown.
require __DIR__ . '/load.php';
$_COOKIE[ LOGGED_IN_COOKIE ] = $argv[1];
wp_set_current_user( wp_validate_auth_cookie( $argv[1], 'logged_in' ) );
echo wp_create_nonce( 'interlock_bridge_ask' );
