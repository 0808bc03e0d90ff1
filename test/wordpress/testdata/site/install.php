<?php
/**
 * Installs WordPress without a browser, activates the plugin, and makes one
 * account of each kind that the tests need. WordPress writes to the globals of
 * whoever loads it, so names here have a prefix.
 */

define( 'WP_INSTALLING', true );
$_SERVER['HTTP_HOST']       = parse_url( getenv( 'WORDPRESS_URL' ), PHP_URL_HOST ) . ':' . parse_url( getenv( 'WORDPRESS_URL' ), PHP_URL_PORT );
$_SERVER['REQUEST_URI']     = '/';
$_SERVER['REQUEST_METHOD']  = 'GET';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';

/** Nobody is told. */
function wp_new_blog_notification() {}

require getenv( 'WORDPRESS_CORE' ) . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
require_once ABSPATH . 'wp-admin/includes/plugin.php';

wp_install( 'Interlock test site', 'admin', 'admin@example.org', true, '', 'admin password of the tests' );
foreach ( array( 'editor' => 'editor', 'second' => 'administrator' ) as $interlock_test_name => $interlock_test_role ) {
	$interlock_test_user = wp_insert_user(
		array(
			'user_login' => $interlock_test_name,
			'user_pass'  => $interlock_test_name . ' password of the tests',
			'user_email' => $interlock_test_name . '@example.org',
			'role'       => $interlock_test_role,
		)
	);
	if ( is_wp_error( $interlock_test_user ) ) {
		fwrite( STDERR, $interlock_test_user->get_error_message() . "\n" );
		exit( 1 );
	}
}
$interlock_test_plugin = activate_plugin( 'interlock-bridge/interlock-bridge.php' );
if ( is_wp_error( $interlock_test_plugin ) ) {
	fwrite( STDERR, $interlock_test_plugin->get_error_message() . "\n" );
	exit( 1 );
}
echo get_bloginfo( 'version' ), "\n";
